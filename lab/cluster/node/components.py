"""The processes of the node, and how each is configured."""

import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from lab.cluster.enclosure import NODE_ADDRESS
from lab.cluster.node.certificates import SERVICE_ADDRESSES

POD_ADDRESSES = "10.244.0.0/16"
DNS_ADDRESS = "10.96.0.10"
ISSUER = "https://kubernetes.default.svc.cluster.local"
CONTAINERD = "/run/containerd.sock"
PAUSE = "localhost/pause:cluster"

_CONTAINERD = """
version = 2
root = "{folder}/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "{folder}/cni"
"""


def write_configuration(folder: Path) -> None:
    """Files that the commands below name."""
    (folder / "containerd.toml").write_text(
        _CONTAINERD.format(folder=folder, socket=CONTAINERD, pause=PAUSE).lstrip()
    )
    (folder / "cni").mkdir()
    (folder / "cni" / "10-pods.conflist").write_text(json.dumps(_network()))
    (folder / "resolv.conf").write_text("")
    (folder / "kubelet.yaml").write_text(yaml.safe_dump(_kubelet(folder)))
    (folder / "kube-proxy.yaml").write_text(yaml.safe_dump(_proxy(folder)))


def commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Programs and their arguments, in the order in which they are started."""
    keys = folder / "certificates"
    yield "etcd", [f"--data-dir={folder}/etcd", "--unsafe-no-fsync", "--log-level=warn"]
    yield "containerd", [f"--config={folder}/containerd.toml"]
    yield "kube-apiserver", _apiserver(keys)
    yield (
        "kube-controller-manager",
        [
            f"--kubeconfig={keys}/kube-controller-manager.kubeconfig",
            f"--service-account-private-key-file={keys}/accounts.key",
            f"--root-ca-file={keys}/ca.crt",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--horizontal-pod-autoscaler-sync-period=5s",
            "--horizontal-pod-autoscaler-cpu-initialization-period=20s",
        ],
    )
    yield "kube-scheduler", [f"--kubeconfig={keys}/kube-scheduler.kubeconfig", "--leader-elect=false"]
    yield (
        "kubelet",
        [
            f"--config={folder}/kubelet.yaml",
            f"--kubeconfig={keys}/kubelet.kubeconfig",
            f"--root-dir={folder}/kubelet",
            "--hostname-override=node",
            f"--node-ip={NODE_ADDRESS}",
        ],
    )
    yield "kube-proxy", [f"--config={folder}/kube-proxy.yaml", "--hostname-override=node"]


def _apiserver(keys: Path) -> list[str]:
    return [
        f"--advertise-address={NODE_ADDRESS}",
        "--etcd-servers=http://127.0.0.1:2379",
        f"--service-cluster-ip-range={SERVICE_ADDRESSES}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--token-auth-file={keys}/tokens.csv",
        f"--client-ca-file={keys}/ca.crt",
        f"--tls-cert-file={keys}/apiserver.crt",
        f"--tls-private-key-file={keys}/apiserver.key",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={keys}/accounts.pub",
        f"--service-account-signing-key-file={keys}/accounts.key",
        f"--kubelet-certificate-authority={keys}/ca.crt",
        f"--kubelet-client-certificate={keys}/apiserver-kubelet.crt",
        f"--kubelet-client-key={keys}/apiserver-kubelet.key",
        f"--requestheader-client-ca-file={keys}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={keys}/front-proxy.crt",
        f"--proxy-client-key-file={keys}/front-proxy.key",
        "--enable-aggregator-routing",
        "--kubelet-preferred-address-types=InternalIP",
    ]


def _network() -> dict[str, object]:
    """Each pod has a link of its own, so that all its packets pass the node's firewall."""
    ranges = [[{"subnet": POD_ADDRESSES}]]
    ipam = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "/run/cni"}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "mtu": 1500, "ipam": ipam}]}


def _kubelet(folder: Path) -> dict[str, object]:
    keys = folder / "certificates"
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(keys / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(keys / "kubelet.crt"),
        "tlsPrivateKeyFile": str(keys / "kubelet.key"),
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{CONTAINERD}",
        "volumePluginDir": str(folder / "volume-plugins"),
        "resolvConf": str(folder / "resolv.conf"),
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": "cluster.local",
        # the disk is the machine's, and others use it
        "evictionHard": {"memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
    }


def _proxy(folder: Path) -> dict[str, object]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(folder / "certificates" / "kube-proxy.kubeconfig")},
        "mode": "iptables",
        "clusterCIDR": POD_ADDRESSES,
        # sizes of the machine's whole connection tracking
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }
