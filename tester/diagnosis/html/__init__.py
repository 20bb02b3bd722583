"""One page that shows a run: messages between controllers, states, copies, transitions."""
