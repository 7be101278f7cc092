import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { ownZone } from '../schedule/zones.ts'
import { patchSettings, settingsQuery } from './settings-api.ts'

/** Reports the browser's time zone once for an account without one. A failure is retried on the next visit. */
export function useTimeZoneReport(isSignedIn: boolean): void {
  const client = useQueryClient()
  const isUnknown = useQuery({ ...settingsQuery, enabled: isSignedIn }).data?.timeZone === null
  useEffect(() => {
    if (isUnknown) patchSettings(client, { timeZone: ownZone() }).catch(() => undefined)
  }, [isUnknown, client])
}
