import {
  createRoute,
  createRouter,
  lazyRouteComponent as lazy,
  parseSearchWith,
  redirect,
  stringifySearchWith,
} from '@tanstack/react-router'
import { LoginSearch, SignupSearch, TokenSearch } from './account/return-path.ts'
import { findUser } from './account/session.ts'
import { BillingSearch } from './billing/billing-api.ts'
import { adminRoutes } from './routes/admin.tsx'
import { agentRoutes } from './routes/agent.tsx'
import { page, redirection, root, signedIn } from './routes/base.tsx'
import { mediaRoutes } from './routes/media.tsx'
import { CostSearch, CreateSearch, FleetSearch, ModelsSearch, RequestsSearch } from './routes/searches.ts'
import { swarmsRoutes } from './routes/swarms.tsx'
import { Failure, NotFound, Pending } from './shell/failure.tsx'

/** Redirects signed-in users; the form reports its own errors otherwise. */
const leaveWhenSignedIn = async (path: string | undefined): Promise<void> => {
  const user = await findUser().catch(() => null)
  if (user) throw redirect({ href: path ?? '/' })
}

/** Former path of the billing page. */
const pricing = createRoute({
  getParentRoute: () => signedIn,
  path: '/pricing',
  validateSearch: BillingSearch,
  beforeLoad: ({ search }) => {
    throw redirect({ to: '/billing', search })
  },
})
const start = createRoute({
  getParentRoute: () => root,
  path: '/',
  // Renders the page of visitors when the session cannot be determined.
  beforeLoad: () => findUser().then(nothing, nothing),
  component: lazy(() => import('./start/start-page.tsx'), 'StartPage'),
})
const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: LoginSearch,
  beforeLoad: ({ search }) => leaveWhenSignedIn(search.redirect),
  component: lazy(() => import('./account/login-page.tsx'), 'LoginPage'),
})
const signup = createRoute({
  getParentRoute: () => root,
  path: '/signup',
  validateSearch: SignupSearch,
  beforeLoad: ({ search }) => leaveWhenSignedIn(search.redirect),
  component: lazy(() => import('./account/signup-page.tsx'), 'SignupPage'),
})

const routeTree = root.addChildren([
  start,
  redirection(root, '/dashboard', '/'),
  login,
  signup,
  page(root, '/setup', () => import('./account/setup-page.tsx'), 'SetupPage', TokenSearch),
  page(root, '/forgot-password', () => import('./account/forgot-password-page.tsx'), 'ForgotPasswordPage'),
  page(root, '/reset-password', () => import('./account/reset-password-page.tsx'), 'ResetPasswordPage', TokenSearch),
  page(root, '/verify-email', () => import('./account/verify-email-page.tsx'), 'VerifyEmailPage', TokenSearch),
  signedIn.addChildren([
    ...agentRoutes,
    ...swarmsRoutes,
    ...mediaRoutes,
    page(signedIn, '/agents', () => import('./agents/agents-page.tsx'), 'AgentsPage', FleetSearch),
    page(signedIn, '/agents/new', () => import('./agents/create-page.tsx'), 'CreatePage', CreateSearch),
    page(signedIn, '/approvals', () => import('./approvals/approvals-page.tsx'), 'ApprovalsPage'),
    page(signedIn, '/cost', () => import('./cost/cost-page.tsx'), 'CostPage', CostSearch),
    page(signedIn, '/requests', () => import('./requests/requests-page.tsx'), 'RequestsPage', RequestsSearch),
    page(signedIn, '/models', () => import('./models/models-page.tsx'), 'ModelsPage', ModelsSearch),
    page(signedIn, '/skills', () => import('./skills/skills-page.tsx'), 'SkillsPage'),
    page(signedIn, '/events', () => import('./economy/events-page.tsx'), 'EventsPage'),
    page(signedIn, '/settings', () => import('./settings/profile-page.tsx'), 'ProfilePage'),
    page(signedIn, '/settings/security', () => import('./settings/security-page.tsx'), 'SecurityPage'),
    page(signedIn, '/settings/notices', () => import('./notifications/notifications-page.tsx'), 'NotificationsPage'),
    page(signedIn, '/settings/keys', () => import('./keys/keys-page.tsx'), 'KeysPage'),
    page(signedIn, '/keys/$keyId', () => import('./keys/key-page.tsx'), 'KeyPage'),
    page(signedIn, '/settings/wallets', () => import('./wallets/wallets-page.tsx'), 'WalletsPage'),
    page(signedIn, '/settings/machines', () => import('./machines/machines-page.tsx'), 'MachinesPage'),
    page(signedIn, '/settings/account', () => import('./settings/account-page.tsx'), 'AccountPage'),
    page(signedIn, '/billing', () => import('./billing/billing-page.tsx'), 'BillingPage', BillingSearch),
    pricing,
    // Stripe redirects to this path.
    redirection(signedIn, '/checkout/success', '/billing?paid=1'),
    adminRoutes,
  ]),
])

function nothing(): void {}

export function createPages() {
  return createRouter({
    routeTree,
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
