import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, Outlet, redirect } from '@tanstack/react-router'
import { findUser } from '../account/session.ts'
import { Shell } from '../shell/shell.tsx'

/** What every page stands below. */
export const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet })

/** What every page stands below that is for those who are signed in; others are led to the sign-in and back. */
export const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  beforeLoad: async ({ context, location }) => {
    if (!(await findUser(context.client))) throw redirect({ to: '/login', search: { redirect: location.href } })
  },
  component: Shell,
})
