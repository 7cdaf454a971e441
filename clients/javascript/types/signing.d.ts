/**
 * AWS Signature Version 4 for one kind of request: a POST with a body to a known path.
 *
 * `@smithy/signature-v4` signs any request and costs more than the rest of a call (D201). The tests compare both, byte
 * for byte.
 */
export type Credentials = {
    accessKeyId: string;
    secretAccessKey: string;
    sessionToken?: string | undefined;
};
export type Fields = string[];
/** Header fields as name, value, name, value.
 * @typedef {string[]} Fields */
export declare class Signer {
    #private;
    /**
     * @param {object} request the common parts of all requests
     * @param {string} request.region
     * @param {string} request.host as it is sent in `Host`
     * @param {string} request.token of the table
     */
    constructor({ region, host, token }: {
        region: string;
        host: string;
        token: string;
    });
    /**
     * @param {string} path as on the wire
     * @param {Buffer} body
     * @param {Credentials} credentials
     * @param {Date} at
     * @returns {Fields} all header fields of the request
     */
    sign(path: string, body: Buffer, { accessKeyId, secretAccessKey, sessionToken }: Credentials, at: Date): Fields;
}
