import { Link } from '@tanstack/react-router'

export function MoreLink({ to, children }: { to: '/agents' | '/cost'; children: string }) {
  return (
    <Link to={to} className="text-sm text-accent hover:underline">
      {children}
    </Link>
  )
}
