/** The options with their defaults, and what they may be. */
export type Credentials = import("./signing.js").Credentials;
export type Options = {
    /**
     * 10: of a whole call: credentials, waiting for a connection, attempts, pauses
     */
    deadlineSeconds?: number | undefined;
    /**
     * 5: of one attempt, from connecting to the last byte of the answer
     */
    attemptSeconds?: number | undefined;
    /**
     * 64: how many attempts are under way; further calls wait
     */
    connections?: number | undefined;
    /**
     * 0.1: the bound of the first pause, doubled for each further one
     */
    backoffBaseSeconds?: number | undefined;
    /**
     * 1: the longest pause, and the spread after `Retry-After`
     */
    backoffCapSeconds?: number | undefined;
    /**
     * 1,048,576: the longest body of an answer that is read
     */
    answerBytes?: number | undefined;
    /**
     * put before every key
     */
    prefix?: string | undefined;
    /**
     * JSON.parse: how values are read
     */
    parse?: ((text: string) => unknown) | undefined;
    /**
     * JSON.stringify: how values are written
     */
    stringify?: ((value: any) => string | undefined) | undefined;
    /**
     * instead of the AWS SDK's own chain
     */
    credentials?: (() => Promise<Credentials>) | undefined;
};
export type Resolved = {
    [Name in Exclude<keyof Options, "credentials">]-?: NonNullable<Options[Name]>;
} & {
    credentials: Options["credentials"];
};
export type Place = {
    /**
     * the gateway's address
     */
    url: string;
    /**
     * to sign for
     */
    region: string;
    /**
     * of the table
     */
    token: string;
};
/**
 * The options with the defaults of those that are not given. Throws ConfigurationError.
 * @param {Options} options
 * @returns {Resolved}
 */
export declare function resolved(options: Options): Resolved;
/**
 * An option that nobody reads would be a surprise later: `ttl` instead of `ttlSeconds` is an entry without an end.
 * @param {unknown} options
 * @param {object} known
 */
export declare function requireKnown(options: unknown, known: object): void;
/** @param {string} name @param {unknown} value */
export declare function requirePositive(name: string, value: unknown): void;
/**
 * The address as an URL; throws ConfigurationError, which quotes nothing: it may hold a password.
 * @param {Place} place
 * @param {{[Name in keyof Place]: string}} names what the three are called where they were set
 */
export declare function checkedUrl({ url, region, token }: Place, names: { [Name in keyof Place]: string; }): import("url").URL;
