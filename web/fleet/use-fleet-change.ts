import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FleetChange, FleetChanged } from '../../src/features/monitoring/fleet/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { changeFleet } from './fleet-api.ts'

/** Small enough to show progress. */
export const AT_ONCE = 10

export type FleetVerb = FleetChange['verb']
export type FleetOrder = { verb: FleetVerb; ids: readonly string[] }

/** Makes the browser ask before closing the tab. */
function keepOpen(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/** Applies a change to many agents in batches. It continues on other pages of the dashboard. */
export function useFleetChange() {
  const client = useQueryClient()
  const [done, setDone] = useState(0)
  const mutation = useMutation({
    mutationFn: async ({ verb, ids }: FleetOrder) => {
      const results: FleetChanged['results'] = []
      setDone(0)
      // Closing the tab would leave the remaining batches undone.
      window.addEventListener('beforeunload', keepOpen)
      try {
        for (let from = 0; from < ids.length; from += AT_ONCE) {
          results.push(...(await changeFleet({ verb, agentIds: ids.slice(from, from + AT_ONCE) })).results)
          setDone(results.length)
        }
      } finally {
        window.removeEventListener('beforeunload', keepOpen)
      }
      return results
    },
    onSettled: () => client.invalidateQueries({ queryKey: agentsQuery.queryKey }),
  })
  return { ...mutation, done }
}
