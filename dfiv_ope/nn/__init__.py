"""Networks and how they are trained.

Every learner traces its own function, as it should: TensorFlow's warning of
that is kept from users, whatever its log level.
"""

import logging

logging.getLogger('tensorflow').addFilter(
    lambda record: 'triggered tf.function retracing' not in record.getMessage())
