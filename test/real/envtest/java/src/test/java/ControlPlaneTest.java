import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.fabric8.kubeapitest.junit.EnableKubeAPIServer;
import io.fabric8.kubeapitest.junit.KubeConfig;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import org.junit.jupiter.api.Test;

@EnableKubeAPIServer
class ControlPlaneTest {

  @KubeConfig
  static String kubeconfig;

  @Test
  void createsAConfigMap() {
    try (var client = new KubernetesClientBuilder().withConfig(Config.fromKubeconfig(kubeconfig)).build()) {
      var settings = new ConfigMapBuilder().withNewMetadata().withName("settings").endMetadata().build();
      var created = client.configMaps().inNamespace("default").resource(settings).create();
      assertNotNull(created.getMetadata().getUid());
    }
  }
}
