/** Single flight: concurrent callers of the same key share one promise. */
export declare class Flights {
    #private;
    /**
     * @template T
     * @param {string} key
     * @param {() => Promise<T>} start
     * @returns {Promise<T>}
     */
    join<T>(key: string, start: () => Promise<T>): Promise<T>;
}
