/** `v21.0` as a number that grows with the version. */
const rank = (version: string): number => {
  const [major = '0', minor = '0'] = version.slice(1).split('.')
  return Number(major) * 1000 + Number(minor)
}

/** Which version answers a call to `asked`: an expired one is served by the oldest usable one (messaging-api 0). */
export const servedVersion = (asked: string | undefined, oldestUsable: string): string =>
  asked !== undefined && rank(asked) > rank(oldestUsable) ? asked : oldestUsable

/** Whether `version` is `other` or later. */
export const isFrom = (version: string, other: string): boolean => rank(version) >= rank(other)
