import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FleetChange, FleetChanged } from '../../src/features/monitoring/fleet/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { changeFleet } from './fleet-api.ts'

/** So many in one request: few enough that progress is seen. */
export const AT_ONCE = 10

export type FleetVerb = FleetChange['verb']
export type FleetOrder = { verb: FleetVerb; ids: readonly string[] }

/** Has the browser ask before the tab is closed or loaded anew. */
function keepOpen(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/**
 * Does the same to many agents and tells how far it has come. It goes on while one is on other pages of the dashboard; before
 * the tab is closed the browser asks.
 */
export function useFleetChange() {
  const client = useQueryClient()
  const [done, setDone] = useState(0)
  const mutation = useMutation({
    mutationFn: async ({ verb, ids }: FleetOrder) => {
      const results: FleetChanged['results'] = []
      setDone(0)
      // The page asks for one part after the other, so what it has not come to stays undone when it is closed.
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
