/**
 * AWS Signature Version 4 of one kind of request: POST with a body, to a path that is known beforehand.
 *
 * `@smithy/signature-v4` signs any request and costs more than the rest of a call together (D205); what is written
 * here is compared with it, byte by byte, in the tests.
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
     * @param {object} request what all requests have in common
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
     * @returns {Fields} all that the request has to carry
     */
    sign(path: string, body: Buffer, { accessKeyId, secretAccessKey, sessionToken }: Credentials, at: Date): Fields;
}
