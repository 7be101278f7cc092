import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { signedIn } from './base.tsx'
import { FeedsSearch, VideoSearch } from './searches.ts'

const media = createRoute({
  getParentRoute: () => signedIn,
  path: '/media',
  beforeLoad: () => {
    throw redirect({ to: '/media/feeds' })
  },
})
const feeds = createRoute({
  getParentRoute: () => signedIn,
  path: '/media/feeds',
  validateSearch: FeedsSearch,
  component: lazyRouteComponent(() => import('../media/feeds-page.tsx'), 'FeedsPage'),
})
const radio = createRoute({
  getParentRoute: () => signedIn,
  path: '/media/radio',
  component: lazyRouteComponent(() => import('../media/radio-page.tsx'), 'RadioPage'),
})
const video = createRoute({
  getParentRoute: () => signedIn,
  path: '/media/video',
  validateSearch: VideoSearch,
  component: lazyRouteComponent(() => import('../media/video-page.tsx'), 'VideoPage'),
})

export const mediaRoutes = [media, feeds, radio, video] as const
