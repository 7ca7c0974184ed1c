"""Public names as type checkers see them; at run time they come when they are first asked for (``__init__.py``)."""

from . import data as data
from . import datasets as datasets
from . import errors as errors
from . import metrics as metrics
from . import plots as plots
from .aspect import AspectBernoulli as AspectBernoulli
from .bernoulli_gauss import BernoulliGaussClassifier as BernoulliGaussClassifier
from .bernoulli_gauss import BernoulliGaussMixture as BernoulliGaussMixture
from .bernoulli_gauss import BernoulliGaussRecommender as BernoulliGaussRecommender
from .bernoulli_gauss import BernoulliGaussSelector as BernoulliGaussSelector
from .evaluation import Imputer as Imputer
from .evaluation import StackedFill as StackedFill
from .evaluation import bootstrap_lrt as bootstrap_lrt
from .evaluation import compare as compare
from .evaluation import select as select
from .exploring import explore as explore
from .gtm import BinaryGTM as BinaryGTM
from .logistic import LatentTrait as LatentTrait
from .logistic import LogisticPCA as LogisticPCA
from .mixture import BayesianBernoulliMixture as BayesianBernoulliMixture
from .mixture import BernoulliMixture as BernoulliMixture
from .mixture import DPBernoulliMixture as DPBernoulliMixture
from .mixture import VariationalBernoulliMixture as VariationalBernoulliMixture
from .multinomial import PLSA as PLSA
from .multinomial import GaussianPLSA as GaussianPLSA
from .multinomial import MixtureOfUnigrams as MixtureOfUnigrams
from .noisy_or import NoisyOrComponentAnalysis as NoisyOrComponentAnalysis
from .persist import load as load
from .rbm import RestrictedBoltzmann as RestrictedBoltzmann
from .trees import ChowLiuTree as ChowLiuTree
from .trees import HiddenTree as HiddenTree
from .trees import TreeMixture as TreeMixture

__version__: str
__all__: list[str]
