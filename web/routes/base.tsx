import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, Outlet, redirect } from '@tanstack/react-router'
import { findUser } from '../account/session.ts'
import { Shell } from '../shell/shell.tsx'

export const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet })

/** Redirects visitors to the sign-in page and back. */
export const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  beforeLoad: async ({ context, location }) => {
    if (!(await findUser(context.client))) throw redirect({ to: '/login', search: { redirect: location.href } })
  },
  component: Shell,
})
