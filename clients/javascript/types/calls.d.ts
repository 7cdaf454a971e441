/** A call: attempts and pauses, until an answer or the deadline. */
export type Response = import("./connections.js").Response;
export type Credentials = import("./signing.js").Credentials;
export type Operation = "put" | "get" | "delete";
export type CallOptions = {
    /**
     * deadline of this call, default: that of the client
     */
    deadlineSeconds?: number | undefined;
    /**
     * cancels the call, which is rejected with the reason of the signal
     */
    signal?: AbortSignal | undefined;
};
export declare class Calls {
    #private;
    url: string;
    region: string;
    /**
     * @param {object} parts
     * @param {URL} parts.url
     * @param {string} parts.region
     * @param {string} parts.token
     * @param {() => Promise<Credentials>} parts.credentials
     * @param {import("./settings.js").Resolved} parts.settings
     */
    constructor({ url, region, token, credentials, settings }: {
        url: URL;
        region: string;
        token: string;
        credentials: () => Promise<Credentials>;
        settings: import("./settings.js").Resolved;
    });
    /**
     * Returns a response with status 200. Rejects with a KvsError, or with the reason of the caller's signal.
     * @param {Operation} operation
     * @param {Buffer} body
     * @param {CallOptions} options
     * @returns {Promise<Response>}
     */
    make(operation: Operation, body: Buffer, { deadlineSeconds, signal }: CallOptions): Promise<Response>;
    close(): Promise<void>;
}
