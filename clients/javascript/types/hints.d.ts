/** Advice on what to do about an error, by its code. */
/** @param {string} code @param {boolean} isOutage */
export declare function hintFor(code: string, isOutage: boolean): string;
