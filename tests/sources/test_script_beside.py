from hookviewer.sources import load


def test_a_script_in_the_current_folder_needs_no_dot_before_its_name(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text("from torch import nn\ndef build(): return nn.Linear(2, 3)\n")
    monkeypatch.chdir(tmp_path)
    assert load("net.py:build").model.out_features == 3
