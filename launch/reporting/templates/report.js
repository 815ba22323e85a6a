'use strict';
(() => {
  const STEP = 100;  // Rows shown at once.
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, attributes) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) {
      element.setAttribute(name, value);
    }
    return element;
  };

  // Numbers before words, nothing last, whichever the direction.
  const compare = (a, b, direction) => {
    const empty = (x) => x === null || x === undefined || x === '' ||
        Number.isNaN(x);
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    const both = typeof a === 'number' && typeof b === 'number';
    if (!both && typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
    return direction * (both ? a - b : a.localeCompare(b));
  };
  const asNumber = (text) => {
    if (text === 'inf') return Infinity;
    const value = Number(text);
    return text === null || text === '' || Number.isNaN(value) ? text : value;
  };

  // Puts a button into each heading; `sort(column, direction)` does the work.
  const sortable = (headings, sort) => {
    headings.forEach((heading, column) => {
      const button = make('button', heading.textContent, {type: 'button'});
      heading.replaceChildren(button);
      button.addEventListener('click', () => {
        const up = heading.getAttribute('aria-sort') !== 'ascending';
        headings.forEach((each) => each.removeAttribute('aria-sort'));
        heading.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        sort(column, up ? 1 : -1);
      });
    });
  };

  document.querySelectorAll('table.sortable').forEach((table) => {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    sortable([...table.tHead.rows[0].cells], (column, direction) => {
      const key = (row) => {
        const cell = row.cells[column];
        const value = cell.dataset.value;
        if (value === 'nan') return null;
        return value === undefined ? cell.textContent : asNumber(value);
      };
      body.append(...rows.map((row) => [key(row), row])
          .sort((a, b) => compare(a[0], b[0], direction))
          .map((pair) => pair[1]));
    });
    if (!('filter' in table.dataset)) return;
    const label = make('label', 'Filter this table ');
    const input = make('input', undefined, {type: 'search'});
    const words = rows.map((row) => row.textContent.toLowerCase());
    input.addEventListener('input', () => {
      const query = input.value.toLowerCase();
      rows.forEach((row, index) => {
        row.hidden = !words[index].includes(query);
      });
    });
    label.append(input);
    table.closest('.table').prepend(label);
  });

  // A part that is asked for is opened.
  const unfold = (element) => {
    if (!element) return;
    element.querySelectorAll(':scope > details').forEach((each) => {
      each.open = true;
    });
    for (let each = element; each; each = each.parentElement) {
      if (each.tagName === 'DETAILS') each.open = true;
    }
  };
  const follow = () => unfold(byId(decodeURIComponent(
      location.hash.slice(1))));
  addEventListener('hashchange', follow);
  document.querySelectorAll('nav a').forEach(
      (link) => link.addEventListener('click', () => {
        unfold(byId(link.getAttribute('href').slice(1)));
      }));
  follow();

  // A table that is wider than the screen says so.
  const hint = () => document.querySelectorAll('.scroll').forEach((box) => {
    const said = box.previousElementSibling;
    const has = said && said.classList.contains('hint');
    const wide = box.scrollWidth > box.clientWidth + 1;
    if (wide && !has) {
      box.before(make('p', 'Scroll sideways for more columns →', {
        'class': 'hint', 'aria-hidden': 'true'}));
    } else if (!wide && has) said.remove();
  });
  addEventListener('resize', hint);
  document.querySelectorAll('details').forEach(
      (each) => each.addEventListener('toggle', hint));
  hint();

  if (!byId('data')) return;  // A page without rows.

  // The table of all rows is made from data, a hundred at a time.
  const data = JSON.parse(byId('data').textContent);
  const names = data.columns.map((column) => column[0]);
  const width = names.length;
  const place = (name) => names.indexOf(name);
  const [PANEL, PROBLEM, CONFIG, VERSIONS, KEY, PRESET, COMMAND, REASON,
    METRICS] = [...Array(9).keys()].map((index) => width + index);
  // That of a selection is of what it was asked for.
  const digest = (problem) => (problem.asked || problem).digest;
  const at = {panel: PANEL};
  ['method', 'noise', 'outcome', 'n', 'rho', 'task', 'discount'].forEach(
      (name) => {
        at[name] = place(name);
      });
  const words = data.rows.map((row) => [
    ...row.slice(0, width), row[KEY], row[PRESET], row[REASON], row[COMMAND],
    digest(data.problems[row[PROBLEM]])].join(' ').toLowerCase());
  const body = byId('rows-table').tBodies[0];
  let order = data.rows.map((_, index) => index);
  let matching = [];
  let shown = STEP;
  let only = {};  // Filters without a control of their own.

  const format = (value, kind) => {
    if (value === null || value === undefined) return '–';
    if (value === 'inf') return '∞';
    if (typeof value !== 'number') return String(value);
    if (kind === 'percent') return `${(100 * value).toPrecision(3)} %`;
    if (Number.isInteger(value)) return String(value);
    return String(Number(value.toPrecision(4)));
  };

  const detail = (row) => {
    const list = make('dl');
    const json = (value) => Object.entries(value).map(
        ([name, each]) => `${name}: ${JSON.stringify(each)}`).join('\n');
    const problem = data.problems[row[PROBLEM]];
    Object.entries({
      'dataset digest': digest(problem) || '–',
      'command': row[COMMAND] || '– (the row names none)',
      'reason': row[REASON], 'preset': row[PRESET],
      'seed': row[place('seed')], 'row key': row[KEY],
      'diagnostics': json(row[METRICS]), 'problem': json(problem),
      'config': json(data.configs[row[CONFIG]]),
      'versions': json(data.versions[row[VERSIONS]]),
    }).forEach(([name, value]) => {
      if (value === '') return;
      list.append(make('dt', name), make('dd', String(value)));
    });
    const line = make('tr', undefined, {class: 'detail'});
    const cell = make('td', undefined, {colspan: width + 1});
    cell.append(list);
    line.append(cell);
    return line;
  };

  const line = (row) => {
    const element = make('tr');
    const cell = make('td');
    const open = make('button', '+', {
      'type': 'button', 'class': 'open', 'aria-expanded': 'false',
      'aria-label': `Details of ${row[place('method')]}, seed ` +
          `${row[place('seed')]}, ${row[place('problem')]}`});
    open.addEventListener('click', () => {
      const closed = open.getAttribute('aria-expanded') === 'false';
      open.setAttribute('aria-expanded', String(closed));
      open.textContent = closed ? '−' : '+';
      if (closed) element.after(detail(row));
      else element.nextElementSibling.remove();
    });
    cell.append(open);
    element.append(cell, ...data.columns.map(([, , kind], index) => make(
        index ? 'td' : 'th', format(row[index], kind),
        kind === 'text' ? (index ? {} : {scope: 'row'}) : {class: 'number'})));
    return element;
  };

  const draw = () => {
    body.replaceChildren(
        ...matching.slice(0, shown).map((index) => line(data.rows[index])));
    const seen = Math.min(shown, matching.length);
    byId('count').textContent =
        `${matching.length} of ${data.rows.length} rows match; ` +
        `${seen} ${seen === 1 ? 'is' : 'are'} shown.` +
        Object.entries(only).map(
            ([name, value]) => ` Only ${name} ${value}.`).join('');
    byId('more').hidden = seen === matching.length;
  };

  const CONTROLS = ['method', 'panel', 'noise', 'outcome'];
  const filter = () => {
    const query = byId('query').value.trim().toLowerCase();
    const wanted = CONTROLS
        .map((name) => [at[name], byId(`filter-${name}`).value])
        .filter(([, value]) => value !== '');
    for (const [name, value] of Object.entries(only)) {
      wanted.push([at[name], String(value)]);
    }
    matching = order.filter((index) => words[index].includes(query) &&
        wanted.every(([column, value]) =>
          String(data.rows[index][column]) === value));
    shown = STEP;
    draw();
  };

  const head = make('tr');
  const first = make('th', 'details', {scope: 'col'});
  const headings = data.columns.map(([, heading, kind]) => make(
      'th', heading, {scope: 'col', class: kind === 'text' ? '' : 'number'}));
  head.append(first, ...headings);
  byId('rows-table').tHead.append(head);
  sortable(headings, (column, direction) => {
    const key = (index) => asNumber(data.rows[index][column]);
    const text = data.columns[column][2] === 'text';
    order.sort((a, b) => compare(
        text ? data.rows[a][column] : key(a),
        text ? data.rows[b][column] : key(b), direction));
    filter();
  });

  CONTROLS.forEach((name) => {
    const select = byId(`filter-${name}`);
    const values = at[name] < 0 ? [] : [...new Set(
        data.rows.map((row) => row[at[name]]))].filter(
        (value) => value !== null && value !== '');
    values.sort((a, b) => compare(a, b, 1));
    if (!values.length) select.closest('label').hidden = true;
    select.append(...values.map(
        (value) => make('option', String(value), {value: String(value)})));
    select.addEventListener('change', () => {
      only = {};
      filter();
    });
  });
  byId('query').addEventListener('input', filter);
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
  byId('filters').addEventListener('reset', () => {
    only = {};
    setTimeout(filter);  // After the controls are empty.
  });
  byId('more').addEventListener('click', () => {
    shown += STEP;
    draw();
  });

  // A name in a table leads to its rows.
  document.querySelectorAll('a[data-rows]').forEach((link) => {
    link.addEventListener('click', () => {
      const wanted = JSON.parse(link.dataset.rows);
      only = {};
      byId('query').value = wanted.digest || '';
      CONTROLS.forEach((name) => {
        byId(`filter-${name}`).value =
            name in wanted ? String(wanted[name]) : '';
      });
      ['task', 'n', 'rho', 'discount'].forEach((name) => {
        if (name in wanted) only[name] = wanted[name];
      });
      filter();
      unfold(byId('rows'));
      byId('rows').focus({preventScroll: true});
    });
  });
  filter();
})();
