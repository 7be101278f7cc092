import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { CostQuery } from '../src/features/usage/schemas.ts'
import { LoginPage } from './account/login-page.tsx'
import { AccountSearch } from './account/return-path.ts'
import { findUser } from './account/session.ts'
import { SignupPage } from './account/signup-page.tsx'
import { AgentsPage } from './agents/agents-page.tsx'
import { CreatePage, CreateSearch } from './agents/create-page.tsx'
import { ChatPage } from './chat/chat-page.tsx'
import { Failure, NotFound, Pending } from './shell/failure.tsx'
import { Shell } from './shell/shell.tsx'

const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet })

const toAgents = () => {
  throw redirect({ to: '/agents' })
}
const start = createRoute({ getParentRoute: () => root, path: '/', beforeLoad: toAgents })
const dashboard = createRoute({ getParentRoute: () => root, path: '/dashboard', beforeLoad: toAgents })

/** Who is signed in already goes on; when that cannot be known, the form is shown and will say so itself. */
const leaveWhenSignedIn = async (client: QueryClient, path: string | undefined) => {
  const user = await findUser(client).catch(() => null)
  if (user) throw redirect({ href: path ?? '/agents' })
}
const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: AccountSearch,
  beforeLoad: ({ context, search }) => leaveWhenSignedIn(context.client, search.redirect),
  component: LoginPage,
})
const signup = createRoute({
  getParentRoute: () => root,
  path: '/signup',
  validateSearch: AccountSearch,
  beforeLoad: ({ context, search }) => leaveWhenSignedIn(context.client, search.redirect),
  component: SignupPage,
})

const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  beforeLoad: async ({ context, location }) => {
    if (!(await findUser(context.client))) throw redirect({ to: '/login', search: { redirect: location.href } })
  },
  component: Shell,
})
const agents = createRoute({ getParentRoute: () => signedIn, path: '/agents', component: AgentsPage })
const createAgent = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/new',
  validateSearch: CreateSearch,
  component: CreatePage,
})
const agent = createRoute({ getParentRoute: () => signedIn, path: '/agents/$agentId', component: ChatPage })
const cost = createRoute({
  getParentRoute: () => signedIn,
  path: '/cost',
  validateSearch: (search) => ({ period: CostQuery.shape.period.catch('7d').parse(search.period) }),
  component: lazyRouteComponent(() => import('./cost/cost-page.tsx'), 'CostPage'),
})

const routeTree = root.addChildren([
  start,
  dashboard,
  login,
  signup,
  signedIn.addChildren([agents, createAgent, agent, cost]),
])

/** Every page of the dashboard by its path. */
export function createPages(client: QueryClient) {
  return createRouter({
    routeTree,
    context: { client },
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultErrorComponent: Failure,
    defaultNotFoundComponent: NotFound,
    defaultPendingComponent: Pending,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPages>
  }
}
