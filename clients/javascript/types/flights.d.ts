/** Single flight: whoever asks for a key while it is being made waits for the same promise. */
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
