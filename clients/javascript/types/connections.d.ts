/**
 * A pool of persistent connections to one gateway, with one POST at a time on each.
 *
 * It uses undici's pool directly: the built-in fetch, which is built on it, costs several times the CPU, and its
 * pool size and idle timeout can be set only for the whole process (D204). From 7.30.2 on it reads an idle connection
 * before it writes: what arrived while the program computed is not taken for an answer.
 */
export type Response = {
    status: number;
    fields: Record<string, string | string[] | undefined>;
    /**
     * undefined if it exceeds the limit
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
     * @param {number} bounds.answerBytes longest body that is read
     */
    constructor({ url, connections, attemptSeconds, answerBytes }: {
        url: URL;
        connections: number;
        attemptSeconds: number;
        answerBytes: number;
    });
    /**
     * Sends a request; resolves with a response of any status, redirects included.
     * @param {Request} request
     * @param {(response: Response) => void} resolve
     * @param {(error: Error) => void} reject
     * @returns {() => void} cancels the request; neither function is called then
     */
    post(request: Request, resolve: (response: Response) => void, reject: (error: Error) => void): () => void;
    /** Closes all connections; pending requests fail. */
    close(): Promise<void>;
}
