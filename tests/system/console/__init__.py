"""The console in a real browser.

chromium   where Chromium is, and how it starts
axe        axe-core, and what it finds on a page
issuer     an OpenID Connect issuer that signs everybody in
visit      a page that shows the console of a gateway, and what people do with it
"""
