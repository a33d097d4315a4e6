"""What a value means, where the steps that made it say so: probabilities, one-hot and others.

Recognised by structure: `exp(x) / sum(exp(x))` is a softmax whoever wrote it. The name of an
enclosing call helps only where structure is ambiguous (a random draw). A value without an entry
means nothing in particular, as far as is known.
"""

from .analysis import Meanings as Meanings
from .analysis import meanings_of as meanings_of
from .copies import number_of as number_of
from .copies import root as root
from .kinds import Meaning as Meaning
from .statistics import deviation_axes as deviation_axes
from .statistics import same_statistics as same_statistics
