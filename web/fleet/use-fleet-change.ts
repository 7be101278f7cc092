import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FleetChange, FleetChanged } from '../../src/features/views/fleet/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { changeFleet } from './fleet-api.ts'

/** So many in one request: few enough that progress is seen. */
const AT_ONCE = 10

export type FleetVerb = FleetChange['verb']
export type FleetOrder = { verb: FleetVerb; ids: readonly string[] }

/** Does the same to many agents and tells how far it has come. What was done stays done when the page is left. */
export function useFleetChange() {
  const client = useQueryClient()
  const [done, setDone] = useState(0)
  const mutation = useMutation({
    mutationFn: async ({ verb, ids }: FleetOrder) => {
      const results: FleetChanged['results'] = []
      setDone(0)
      for (let from = 0; from < ids.length; from += AT_ONCE) {
        results.push(...(await changeFleet({ verb, agentIds: ids.slice(from, from + AT_ONCE) })).results)
        setDone(results.length)
      }
      return results
    },
    onSettled: () => client.invalidateQueries({ queryKey: agentsQuery.queryKey }),
  })
  return { ...mutation, done }
}
