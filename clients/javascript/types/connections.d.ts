/**
 * One pool of connections to one gateway: a POST at a time on each, the next one on the same connection.
 *
 * undici's pool rather than the built-in fetch, which is made of it: fetch costs several times the CPU and leaves
 * the pool's size and the connections' idle time to the process (D204).
 */
export type Response = {
    status: number;
    fields: Record<string, string | string[] | undefined>;
    /**
     * undefined if it is too long
     */
    body: Buffer | undefined;
};
export type Fields = import("./signing.js").Fields;
export type Request = {
    path: string;
    body: Buffer;
    fields: Fields;
};
export type Controller = import("undici").Dispatcher.DispatchController;
export declare class Connections {
    #private;
    /**
     * @param {object} bounds
     * @param {URL} bounds.url
     * @param {number} bounds.connections
     * @param {number} bounds.attemptSeconds from connecting to the last byte of the answer
     * @param {number} bounds.answerBytes of a body; of a longer one no more is read
     */
    constructor({ url, connections, attemptSeconds, answerBytes }: {
        url: URL;
        connections: number;
        attemptSeconds: number;
        answerBytes: number;
    });
    /**
     * Sends a request; a response is what came, whatever its status: redirects, too.
     * @param {Request} request
     * @param {(response: Response) => void} resolve
     * @param {(error: Error) => void} reject
     * @returns {() => void} cancels it; neither of the two is called then
     */
    post(request: Request, resolve: (response: Response) => void, reject: (error: Error) => void): () => void;
    /** Closes all connections; what is under way fails. */
    close(): Promise<void>;
}
