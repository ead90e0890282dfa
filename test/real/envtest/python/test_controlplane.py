import subprocess

import pytest
from kubernetes import client, config


@pytest.fixture(scope="session")
def api(tmp_path_factory):
    kubeconfig = tmp_path_factory.mktemp("muster") / "kubeconfig"
    server = subprocess.Popen(["muster", "apiserver", "--kubeconfig-out", kubeconfig], stdout=subprocess.PIPE)
    server.stdout.readline()  # one line, when it is ready
    yield config.new_client_from_config(str(kubeconfig))
    server.terminate()
    server.wait()


def test_creates_a_config_map(api):
    settings = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="settings"))
    created = client.CoreV1Api(api).create_namespaced_config_map("default", settings)
    assert created.metadata.uid
