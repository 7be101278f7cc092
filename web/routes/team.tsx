import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { InboxSearch } from '../team/inbox-search.ts'
import { signedIn } from './base.tsx'

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
  component: lazyRouteComponent(() => import('../team/swarms-page.tsx'), 'SwarmsPage'),
})
const newSwarm = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/swarms/new',
  component: lazyRouteComponent(() => import('../team/new-swarm-page.tsx'), 'NewSwarmPage'),
})
const swarm = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/swarms/$swarmId',
  component: lazyRouteComponent(() => import('../team/swarm-page.tsx'), 'SwarmPage'),
})
const run = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/swarms/$swarmId/runs/$runId',
  component: lazyRouteComponent(() => import('../team/run-page.tsx'), 'RunPage'),
})
const map = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/map',
  component: lazyRouteComponent(() => import('../team/map-page.tsx'), 'MapPage'),
})
const inbox = createRoute({
  getParentRoute: () => signedIn,
  path: '/team/inbox',
  validateSearch: InboxSearch,
  component: lazyRouteComponent(() => import('../team/inbox-page.tsx'), 'InboxPage'),
})

export const teamRoutes = [team, swarms, newSwarm, swarm, run, map, inbox] as const
