/** Where the client may run: the specification's rule, with its reason for a client elsewhere. */
/** @returns {never} */
export declare function refuse(): never;
/** Throws where there is no Node: in a browser, in an edge worker without its modules; and in a page of Electron. */
export declare function requireBackend(): void;
