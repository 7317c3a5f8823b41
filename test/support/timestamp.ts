/** A timestamp in a response: UTC, ISO 8601, with milliseconds and `Z`. */
export const aTimestamp: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
