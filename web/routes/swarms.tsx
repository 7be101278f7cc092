import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { signedIn } from './base.tsx'
import { InboxSearch } from './searches.ts'

const team = createRoute({
  getParentRoute: () => signedIn,
  path: '/team',
  beforeLoad: () => {
    throw redirect({ to: '/team/swarms' })
  },
})
const swarms = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/swarms',
  component: lazyRouteComponent(() => import('../swarms/swarms-page.tsx'), 'SwarmsPage'),
})
const newSwarm = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/swarms/new',
  component: lazyRouteComponent(() => import('../swarms/swarms-page.tsx'), 'NewSwarmPage'),
})
const swarm = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/swarms/$swarmId',
  component: lazyRouteComponent(() => import('../swarms/swarm-page.tsx'), 'SwarmPage'),
})
const run = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/swarms/$swarmId/runs/$runId',
  component: lazyRouteComponent(() => import('../swarms/run-page.tsx'), 'RunPage'),
})
const map = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/map',
  component: lazyRouteComponent(() => import('../swarms/map-page.tsx'), 'MapPage'),
})
const inbox = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/inbox',
  validateSearch: InboxSearch,
  component: lazyRouteComponent(() => import('../swarms/inbox-page.tsx'), 'InboxPage'),
})

export const swarmsRoutes = [team, swarms, newSwarm, swarm, run, map, inbox] as const
