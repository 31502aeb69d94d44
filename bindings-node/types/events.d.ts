declare namespace _exports {
    export { LimiterEvent };
}
declare namespace _exports {
    export { LimiterEvents };
    export let events: LimiterEvents;
}
export = _exports;
/**
 * What limiters tell of themselves.
 */
type LimiterEvent = {
    /**
     * What happened: `breaker_open`, `breaker_closed`, `fallback_began`, `fallback_lasts`,
     * `fallback_ended`, `rules_changed`, `rules_refused`, `rules_lost`, `rules_unreachable`, `topology_changed`,
     * `shadow_denied` and others.
     */
    name: string;
    /**
     * Whether somebody should look at it.
     */
    warning: boolean;
    /**
     * What happened, in one line.
     */
    message: string;
};
/**
 * What limiters tell of themselves.
 *
 * @typedef {object} LimiterEvent
 * @property {string} name What happened: `breaker_open`, `breaker_closed`, `fallback_began`, `fallback_lasts`,
 *   `fallback_ended`, `rules_changed`, `rules_refused`, `rules_lost`, `rules_unreachable`, `topology_changed`,
 *   `shadow_denied` and others.
 * @property {boolean} warning Whether somebody should look at it.
 * @property {string} message What happened, in one line.
 */
/**
 * Emits `event` for what the limiters of this process tell of themselves, such as that a circuit breaker has opened. As long
 * as somebody listens, warnings are not written to standard error. It does not keep the process alive.
 *
 * @extends {EventEmitter<{ event: [LimiterEvent] }>}
 */
declare class LimiterEvents extends EventEmitter<{
    event: [LimiterEvent];
}> {
    constructor();
    /** @param {Parameters<EventEmitter<any>['removeAllListeners']>} names */
    removeAllListeners(eventName?: unknown): this;
    #private;
}
import { EventEmitter } from "events";
