from glassine.report.editor_page import render_editor as render_editor
from glassine.report.rendering import audit_page as audit_page
from glassine.report.rendering import render_html as render_html
from glassine.report.rendering import render_text as render_text
from glassine.report.section import Page as Page
from glassine.report.section import Section as Section
from glassine.report.sections.comparison import comparison_page as comparison_page
from glassine.report.sections.disclosure import disclosure_page as disclosure_page
from glassine.report.sections.files import files_page as files_page
from glassine.report.sections.membership import attack_page as attack_page
from glassine.report.sections.near_optimal import near_optimal_page as near_optimal_page
from glassine.report.sections.releases import release_page as release_page
from glassine.report.sections.several import several_page as several_page

__all__: list[str]
