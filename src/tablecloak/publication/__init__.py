"""What may leave the building: a publication, its layout, and its writers."""

from tablecloak.publication.publication import Publication
from tablecloak.publication.publish import Labels, publish
