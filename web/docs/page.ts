/** The script of the documents. Every page is complete without it. */
import './search.ts'

// The list of pages scrolls by itself and is longer than most windows.
document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
