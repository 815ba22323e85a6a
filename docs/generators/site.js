// What scrolls sideways can be reached by the keyboard. The theme wraps tables
// when a page is there, so wrappers are looked for as they come.
const reach = () => document
  .querySelectorAll('.md-typeset__scrollwrap, math[display="block"], .notebook-output')
  .forEach((each) => each.setAttribute('tabindex', '0'));
new MutationObserver(reach).observe(document.body, {childList: true, subtree: true});
reach();
