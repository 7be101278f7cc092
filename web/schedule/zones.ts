/** Returns every time zone, the chosen one and this device's first. */
export function listZones(chosen: string): string[] {
  return [...new Set([chosen, ownZone(), 'UTC', ...Intl.supportedValuesOf('timeZone')])]
}

/** Returns the time zone of this device. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}
