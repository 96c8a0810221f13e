from glassine.desk.app import create_desk as create_desk
from glassine.desk.desk import Desk as Desk
from glassine.desk.events import Person as Person
from glassine.desk.settings import DeskSettings as DeskSettings

__all__: list[str]
