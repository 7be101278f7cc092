/** Lists the chosen time zone and this device's first. */
export function listZones(chosen: string): string[] {
  return [...new Set([chosen, ownZone(), 'UTC', ...Intl.supportedValuesOf('timeZone')])]
}

export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}
