import { Link } from '@tanstack/react-router'

/** The way from a panel to the page that it is about. */
export function MoreLink({ to, children }: { to: '/agents' | '/cost'; children: string }) {
  return (
    <Link to={to} className="text-sm text-accent hover:underline">
      {children}
    </Link>
  )
}
