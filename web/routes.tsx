import type { QueryClient } from '@tanstack/react-query'
import {
  createRoute,
  createRouter,
  lazyRouteComponent,
  parseSearchWith,
  redirect,
  stringifySearchWith,
} from '@tanstack/react-router'
import { LoginSearch, SignupSearch, TokenSearch } from './account/return-path.ts'
import { findUser } from './account/session.ts'
import { BillingSearch } from './billing/billing-api.ts'
import { adminRoutes } from './routes/admin.tsx'
import { agentRoutes } from './routes/agent.tsx'
import { root, signedIn } from './routes/base.tsx'
import { mediaRoutes } from './routes/media.tsx'
import { CostSearch, CreateSearch, FleetSearch, ModelsSearch } from './routes/searches.ts'
import { swarmsRoutes } from './routes/swarms.tsx'
import { Failure, NotFound, Pending } from './shell/failure.tsx'

const start = createRoute({
  getParentRoute: () => root,
  path: '/',
  // Renders the page of visitors when the session cannot be determined.
  beforeLoad: ({ context }) =>
    findUser(context.client)
      .catch(() => null)
      .then(() => undefined),
  component: lazyRouteComponent(() => import('./start/start-page.tsx'), 'StartPage'),
})
const dashboard = createRoute({
  getParentRoute: () => root,
  path: '/dashboard',
  beforeLoad: () => {
    throw redirect({ to: '/' })
  },
})

/** Redirects signed-in users; the form reports its own errors otherwise. */
const leaveWhenSignedIn = async (client: QueryClient, path: string | undefined) => {
  const user = await findUser(client).catch(() => null)
  if (user) throw redirect({ href: path ?? '/' })
}
const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: LoginSearch,
  beforeLoad: ({ context, search }) => leaveWhenSignedIn(context.client, search.redirect),
  component: lazyRouteComponent(() => import('./account/login-page.tsx'), 'LoginPage'),
})
const signup = createRoute({
  getParentRoute: () => root,
  path: '/signup',
  validateSearch: SignupSearch,
  beforeLoad: ({ context, search }) => leaveWhenSignedIn(context.client, search.redirect),
  component: lazyRouteComponent(() => import('./account/signup-page.tsx'), 'SignupPage'),
})

const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  validateSearch: TokenSearch,
  component: lazyRouteComponent(() => import('./account/setup-page.tsx'), 'SetupPage'),
})

const forgotPassword = createRoute({
  getParentRoute: () => root,
  path: '/forgot-password',
  component: lazyRouteComponent(() => import('./account/forgot-password-page.tsx'), 'ForgotPasswordPage'),
})
const resetPassword = createRoute({
  getParentRoute: () => root,
  path: '/reset-password',
  validateSearch: TokenSearch,
  component: lazyRouteComponent(() => import('./account/reset-password-page.tsx'), 'ResetPasswordPage'),
})
const verifyEmail = createRoute({
  getParentRoute: () => root,
  path: '/verify-email',
  validateSearch: TokenSearch,
  component: lazyRouteComponent(() => import('./account/verify-email-page.tsx'), 'VerifyEmailPage'),
})

const agents = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents',
  validateSearch: FleetSearch,
  component: lazyRouteComponent(() => import('./agents/agents-page.tsx'), 'AgentsPage'),
})
const createAgent = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/new',
  validateSearch: CreateSearch,
  component: lazyRouteComponent(() => import('./agents/create-page.tsx'), 'CreatePage'),
})
const approvals = createRoute({
  getParentRoute: () => signedIn,
  path: '/approvals',
  component: lazyRouteComponent(() => import('./approvals/approvals-page.tsx'), 'ApprovalsPage'),
})
const cost = createRoute({
  getParentRoute: () => signedIn,
  path: '/cost',
  validateSearch: CostSearch,
  component: lazyRouteComponent(() => import('./cost/cost-page.tsx'), 'CostPage'),
})
const models = createRoute({
  getParentRoute: () => signedIn,
  path: '/models',
  validateSearch: ModelsSearch,
  component: lazyRouteComponent(() => import('./models/models-page.tsx'), 'ModelsPage'),
})
const skills = createRoute({
  getParentRoute: () => signedIn,
  path: '/skills',
  component: lazyRouteComponent(() => import('./skills/skills-page.tsx'), 'SkillsPage'),
})
const events = createRoute({
  getParentRoute: () => signedIn,
  path: '/events',
  component: lazyRouteComponent(() => import('./economy/events-page.tsx'), 'EventsPage'),
})

const profile = createRoute({
  getParentRoute: () => signedIn,
  path: '/settings',
  component: lazyRouteComponent(() => import('./settings/profile-page.tsx'), 'ProfilePage'),
})
const security = createRoute({
  getParentRoute: () => signedIn,
  path: '/settings/security',
  component: lazyRouteComponent(() => import('./settings/security-page.tsx'), 'SecurityPage'),
})
const notices = createRoute({
  getParentRoute: () => signedIn,
  path: '/settings/notices',
  component: lazyRouteComponent(() => import('./notifications/notifications-page.tsx'), 'NotificationsPage'),
})
const keys = createRoute({
  getParentRoute: () => signedIn,
  path: '/settings/keys',
  component: lazyRouteComponent(() => import('./keys/keys-page.tsx'), 'KeysPage'),
})
const oneKey = createRoute({
  getParentRoute: () => signedIn,
  path: '/keys/$keyId',
  component: lazyRouteComponent(() => import('./keys/key-page.tsx'), 'KeyPage'),
})
const wallets = createRoute({
  getParentRoute: () => signedIn,
  path: '/settings/wallets',
  component: lazyRouteComponent(() => import('./wallets/wallets-page.tsx'), 'WalletsPage'),
})
const machines = createRoute({
  getParentRoute: () => signedIn,
  path: '/settings/machines',
  component: lazyRouteComponent(() => import('./machines/machines-page.tsx'), 'MachinesPage'),
})
const account = createRoute({
  getParentRoute: () => signedIn,
  path: '/settings/account',
  component: lazyRouteComponent(() => import('./settings/account-page.tsx'), 'AccountPage'),
})

const billing = createRoute({
  getParentRoute: () => signedIn,
  path: '/billing',
  validateSearch: BillingSearch,
  component: lazyRouteComponent(() => import('./billing/billing-page.tsx'), 'BillingPage'),
})
/** Former paths of the page; Stripe still redirects to the second one. */
const pricing = createRoute({
  getParentRoute: () => signedIn,
  path: '/pricing',
  validateSearch: BillingSearch,
  beforeLoad: ({ search }) => {
    throw redirect({ to: '/billing', search })
  },
})
const checkoutSuccess = createRoute({
  getParentRoute: () => signedIn,
  path: '/checkout/success',
  beforeLoad: () => {
    throw redirect({ to: '/billing', search: { paid: '1' } })
  },
})

const routeTree = root.addChildren([
  start,
  dashboard,
  login,
  signup,
  setup,
  forgotPassword,
  resetPassword,
  verifyEmail,
  signedIn.addChildren([
    agents,
    createAgent,
    ...agentRoutes,
    ...swarmsRoutes,
    ...mediaRoutes,
    approvals,
    cost,
    models,
    skills,
    events,
    profile,
    security,
    notices,
    keys,
    oneKey,
    wallets,
    machines,
    account,
    billing,
    pricing,
    checkoutSuccess,
    adminRoutes,
  ]),
])

export function createPages(client: QueryClient) {
  return createRouter({
    routeTree,
    context: { client },
    // Keeps search values as text: parsed as JSON, a code such as 12345E67 would become a number.
    parseSearch: parseSearchWith((text) => text),
    stringifySearch: stringifySearchWith(JSON.stringify),
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
