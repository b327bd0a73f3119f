// Who calls: nobody, whoever signed in, or whoever a token that was pasted is of.
import { session, signIn, signOut, useToken } from './auth.js';
import { el, newID } from './dom.js';

export class Account {
  #challenge = {};

  // onChange is told when there is another token, or none any more; onError what fails.
  constructor({ element, endpoint, needed, onChange, onError }) {
    Object.assign(this, { element, endpoint, needed, onChange, onError });
    this.render();
  }

  // The server wants a token, or another one.
  refused(challenge) {
    this.#challenge = challenge;
    this.needed = true;
    this.expired = Boolean(session());
    if (this.expired) signOut();
    this.render();
  }

  async signIn(challenge, options) {
    try {
      // The token is good for the endpoint by one name, and its sign-in comes back to the page of that name.
      const { origin } = new URL(this.endpoint);
      if (origin !== location.origin) throw new Error(`To sign in, open this page at ${origin}/`);
      await signIn(this.endpoint, challenge ?? this.#challenge, options);
    } catch (error) {
      this.onError(error.message);
    }
  }

  render() {
    if (!this.needed) {
      this.element.replaceChildren();
      return;
    }
    const current = session();
    if (!current) {
      this.element.replaceChildren(this.#button('Sign in', () => this.signIn(), 'primary'));
      return;
    }
    const scopes = current.scope.split(' ').filter(Boolean);
    const menu = el(
      'details',
      { class: 'menu' },
      el('summary', { text: nameIn(current.token) ?? 'Signed in' }),
      el(
        'div',
        { class: 'sheet' },
        scopes.length
          ? el('ul', { 'aria-label': 'Scopes' }, scopes.map((scope) => el('li', {}, el('code', { text: scope }))))
          : el('p', { class: 'hint', text: 'Which scopes the token has is not known.' }),
        this.#button('Sign in as somebody else', () => this.signIn({}, { another: true })),
        this.#button('Sign out', () => {
          signOut();
          this.onChange();
        }),
        this.#paste(),
      ),
    );
    this.element.replaceChildren(menu);
  }

  // What stands where the tools would be.
  welcome() {
    const why = this.expired ? 'The token is no longer taken.' : 'This server asks for an access token.';
    return el(
      'div',
      { class: 'welcome' },
      el('h2', { text: 'Who calls?' }),
      el('p', { text: `${why} Sign in as one of the users that the terminal shows, or paste a token that you have.` }),
      el('div', { class: 'actions' }, this.#button('Sign in', () => this.signIn(), 'primary')),
      this.#paste(),
    );
  }

  // What stands where a result would be, when a call needs more than the token gives.
  stepUp(challenge) {
    const fresh = challenge.error === 'insufficient_user_authentication';
    const label = fresh ? 'Sign in again for this call' : `Sign in for ${challenge.scope ?? 'more'}`;
    return el(
      'div',
      { class: 'notice' },
      el('p', { text: challenge.error_description ?? 'The token is not enough for this call.' }),
      challenge.scope && el('p', {}, 'It needs ', el('code', { text: challenge.scope }), '.'),
      this.#button(label, () => this.signIn(challenge), 'primary'),
    );
  }

  #button(text, click, kind) {
    return el('button', { type: 'button', class: kind, text, click });
  }

  #paste() {
    const id = newID('token');
    const input = el('input', { id, type: 'password', autocomplete: 'off', spellcheck: 'false' });
    return el(
      'form',
      {
        class: 'paste',
        submit: (event) => {
          event.preventDefault();
          if (!input.value.trim()) return;
          useToken(input.value.trim());
          this.onChange();
        },
      },
      el('label', { for: id, text: 'Access token' }),
      input,
      el('button', { text: 'Use it' }),
    );
  }
}

// Whom a token is of, where it says so. Nothing depends on it: what a token means is for the server to say.
function nameIn(token) {
  try {
    const claims = JSON.parse(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')));
    return typeof claims.sub === 'string' ? claims.sub : undefined;
  } catch {
    return undefined;
  }
}
