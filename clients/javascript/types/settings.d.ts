/** The options with their defaults and checks. */
export type Credentials = import("./signing.js").Credentials;
export type Options = {
    /**
     * limit of a whole call with credentials, waiting for a connection, attempts and pauses, default: 10
     */
    deadlineSeconds?: number | undefined;
    /**
     * limit of one attempt, from connecting to the last byte of the answer, default: 5
     */
    attemptSeconds?: number | undefined;
    /**
     * most concurrent attempts; further calls wait, default: 64
     */
    connections?: number | undefined;
    /**
     * bound of the first pause, doubled for each further one, default: 0.1
     */
    backoffBaseSeconds?: number | undefined;
    /**
     * longest pause, and longest random part added to `Retry-After`, default: 1
     */
    backoffCapSeconds?: number | undefined;
    /**
     * longest answer body that is read, default: 1,048,576
     */
    answerBytes?: number | undefined;
    /**
     * added to the front of every key
     */
    prefix?: string | undefined;
    /**
     * decodes values, default: JSON.parse
     */
    parse?: ((text: string) => unknown) | undefined;
    /**
     * encodes values, default: JSON.stringify
     */
    stringify?: ((value: any) => string | undefined) | undefined;
    /**
     * replaces the chain of the AWS SDK
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
 * Adds the defaults to the given options. Throws ConfigurationError.
 * @param {Options} options
 * @returns {Resolved}
 */
export declare function resolved(options: Options): Resolved;
/**
 * Refuses unknown options: with `ttl` instead of `ttlSeconds`, an entry would never expire.
 * @param {unknown} options
 * @param {object} known
 */
export declare function requireKnown(options: unknown, known: object): void;
/** @param {string} name @param {unknown} value */
export declare function requirePositive(name: string, value: unknown): void;
/**
 * Returns the address as a URL; throws ConfigurationError, which quotes no value, as the address may have a password.
 * @param {Place} place
 * @param {{[Name in keyof Place]: string}} names names of the variables or settings, for errors
 */
export declare function checkedUrl({ url, region, token }: Place, names: { [Name in keyof Place]: string; }): import("url").URL;
