/** Refuses to run outside of backend apps. */
/** @returns {never} */
export declare function refuse(): never;
/** Throws without Node (in a browser or an edge worker), and in a page of Electron. */
export declare function requireBackend(): void;
