/** Single flight: callers that ask for a key while it is being made wait for the same promise. */
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
