"""Where nbval runs a lesson, its pictures are compared as well: tests/lessons/pictures.py."""
try:
    from nbval.plugin import IPyNbCell
except ImportError:
    pass
else:
    from pictures import unlike

    def compare(cell, new, stored, skip_compare=None, *, others=IPyNbCell.compare_outputs):
        if wrong := unlike(cell.cell.source, new, stored):
            cell.comparison_traceback = [wrong]
            return False
        return others(cell, new, stored, skip_compare)

    IPyNbCell.compare_outputs = compare
