import { page, redirection, signedIn } from './base.tsx'
import { FeedsSearch, VideoSearch } from './searches.ts'

export const mediaRoutes = [
  redirection(signedIn, '/media', '/media/feeds'),
  page(signedIn, '/media/feeds', () => import('../media/feeds-page.tsx'), 'FeedsPage', FeedsSearch),
  page(signedIn, '/media/radio', () => import('../media/radio-page.tsx'), 'RadioPage'),
  page(signedIn, '/media/video', () => import('../media/video-page.tsx'), 'VideoPage', VideoSearch),
] as const
