import {
  type AnyRoute,
  type AnyValidator,
  type Constrain,
  createRootRoute,
  createRoute,
  lazyRouteComponent,
  Outlet,
  type RouteComponent,
  redirect,
} from '@tanstack/react-router'
import { findUser } from '../account/session.ts'
import { Shell } from '../shell/shell.tsx'

export const root = createRootRoute({ component: Outlet })

/** Redirects visitors to the sign-in page and back. */
export const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  beforeLoad: async ({ location }) => {
    if (!(await findUser())) throw redirect({ to: '/login', search: { redirect: location.href } })
  },
  component: Shell,
})

/** Declares a page; `validateSearch` parses the query string. */
export function page<
  Parent extends AnyRoute,
  const Path extends string,
  Name extends string,
  Search extends AnyValidator = undefined,
>(parent: Parent, path: Path, load: () => Promise<Record<Name, RouteComponent>>, name: Name, validateSearch?: Search) {
  const component = lazyRouteComponent(load, name)
  return createRoute({
    ...at(parent, path),
    component,
    validateSearch: validateSearch as Constrain<Search, AnyValidator>,
  })
}

export function redirection<Parent extends AnyRoute, const Path extends string>(
  parent: Parent,
  path: Path,
  to: string,
) {
  const beforeLoad = () => {
    throw redirect({ href: to })
  }
  return createRoute({ ...at(parent, path), beforeLoad })
}

function at<Parent extends AnyRoute, const Path extends string>(parent: Parent, path: Path) {
  return { getParentRoute: () => parent, path }
}
