/** Single flight: concurrent callers of the same key share one promise. */

export class Flights {
  /** @type {Map<string, Promise<any>>} */
  #underWay = new Map();

  /**
   * @template T
   * @param {string} key
   * @param {() => Promise<T>} start
   * @returns {Promise<T>}
   */
  join(key, start) {
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return underWay;
    const flight = start().finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, flight);
    return flight;
  }
}
