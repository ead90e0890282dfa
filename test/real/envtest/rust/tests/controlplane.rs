use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::Client;

struct ControlPlane(Child);

impl Drop for ControlPlane {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn creates_a_config_map() -> Result<(), Box<dyn std::error::Error>> {
    let kubeconfig = std::env::temp_dir().join(format!("muster-{}", std::process::id()));
    let mut server = Command::new("muster")
        .args(["apiserver", "--kubeconfig-out"])
        .arg(&kubeconfig)
        .stdout(Stdio::piped())
        .spawn()?;
    let output = server.stdout.take().ok_or("no output")?;
    let _plane = ControlPlane(server);
    BufReader::new(output).read_line(&mut String::new())?; // one line, when it is ready

    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(&kubeconfig)?, &options).await?;
    let config_maps: Api<ConfigMap> = Api::default_namespaced(Client::try_from(config)?);
    let mut settings = ConfigMap::default();
    settings.metadata.name = Some("settings".into());
    let created = config_maps.create(&PostParams::default(), &settings).await?;
    assert!(created.metadata.uid.is_some());
    Ok(())
}
