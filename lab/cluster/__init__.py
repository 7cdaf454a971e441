"""`make cluster`: a real Kubernetes of one node, and what is proved on it.

__main__      the order: packages, programs, images, the namespaces; everything is taken down at the end
machine       what the machine must have, and Debian's packages
programs      Kubernetes, etcd, CoreDNS and others, built once into the cache
images        images without a registry, kept in the cache
enclosure     the namespaces and control groups in which all of it runs
inside        what runs in there: the node, then the proofs
node          one node and its control plane
kubectl       kubectl, and what its output says
step          what a run says while it works, and how it ends when something is missing
conftest      keeps the proofs out of `make test`, and shares the installation among them
given         hands the running node to the proofs
site          the gateway, installed as deploy/README.md says, and what stands beside it
deployed      its Deployment: pods, rollouts, what the Service leads to
my_gateway    the operator's own kustomization
shell         runs the guide's scripts
manifests     Redis, Prometheus, an ingress, pods that probe
authority     stands where cert-manager would
load          signed requests through the Service, and what came of them
ledgers       what clients know of what is billed
probes        asks from inside pods what can be reached
processes     processes of pods, as the node sees them
report        one table of what was shown
"""
